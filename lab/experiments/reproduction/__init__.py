"""What runs and judges the reproduction of a published experiment: parts, rows beside ours, claims."""

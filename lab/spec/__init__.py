"""What is asked, as frozen values: scenarios, loads, limits and plans, and what theory predicts for them."""

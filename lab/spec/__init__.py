"""The specification of a run, as frozen values: scenario, load, limits, plan, and what theory predicts for them."""

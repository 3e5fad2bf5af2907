"""From a stored run to a judgement: checks and verdict, comparison, the binding resource, objectives."""

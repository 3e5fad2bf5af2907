"""A bearer token verified and one row of MySQL selected."""

.PHONY: check format test
check: ## everything the gate checks, in the environment at hand
	ruff check .
	ruff format --check .
	mypy
	pytest
format:
	ruff format .
	ruff check --fix .
test:
	pytest

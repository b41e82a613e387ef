# Everything CI checks, without the install: for the time between two commits.
PYTHON ?= .venv/bin/python

.PHONY: check fix
check:
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy
	$(dir $(PYTHON))lint-imports
	$(PYTHON) -m pytest -m "not slow"

fix:
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .

.PHONY: screenshots
screenshots:
	$(PYTHON) docs/screenshots.py

.PHONY: pictures
pictures:
	$(dir $(PYTHON))gradscope run --graph docs/img/detach.svg examples/detach_between_layers.py

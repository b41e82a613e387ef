# For the time between two commits. CI runs .ci/run.
PYTHON ?= .venv/bin/python
BIN := $(dir $(PYTHON))

.PHONY: check quick lint test nightly fix
check: lint quick
quick:  # what most changes break, in a minute
	$(PYTHON) -m pytest -n 2 --dist worksteal -m "not slow and not nightly" tests/rules tests/store tests/graph tests/answers tests/test_imports.py
lint:
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy
	$(BIN)lint-imports
test:  # all that CI runs
	$(PYTHON) -m pytest -n 3 --dist worksteal
nightly:  # what takes minutes, and all programs of which the ordinary run draws a few
	$(PYTHON) -m pytest -n 2 --dist worksteal -m nightly
fix:
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .

.PHONY: new-rule test-rule
new-rule:  # CODE=GS317 NAME=what-it-catches, and RANKS=1 for one that compares the processes of a run
	$(PYTHON) tools/new_rule.py $(CODE) $(NAME) $(if $(RANKS),--ranks)
test-rule:  # RULE=GS201
	$(PYTHON) -m pytest -m "" tests/rules tests/fixes tests/ranks -k $(RULE)

.PHONY: docs outputs
docs:  # the site, in site/; fails where a link leads nowhere
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --strict
outputs:  # what the documentation's programs print, written anew
	$(PYTHON) tools/doc_programs.py

.PHONY: screenshots pictures gallery
gallery:  # docs/reading/gallery.md and its pictures
	$(PYTHON) tools/gallery
screenshots:
	$(PYTHON) docs/screenshots.py
pictures:
	$(BIN)gradscope run --graph docs/img/detach.svg examples/detach_between_layers.py

"""The workbench: pages in a browser where a person and a model label together, and where given labels are reviewed."""

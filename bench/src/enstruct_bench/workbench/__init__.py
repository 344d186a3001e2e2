"""What the workbench is worth, measured through the page's own paths: clicks, waiting, answers kept, rows in their order."""

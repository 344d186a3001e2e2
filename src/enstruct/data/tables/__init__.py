"""Tables whose columns have names, CSV files and Parquet: a row a line, a column a feature or a label."""

"""Tables whose columns have names, CSV files and Parquet: a column is a feature or a label."""

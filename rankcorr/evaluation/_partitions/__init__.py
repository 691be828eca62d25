"""Evaluate columns that are already joined by query, one partition at a time: files and clusters.

In the order of the work:

- `joined_columns` reads a partition from Arrow, one row for each document of a query, and makes partitions of batches
  and Parquet files, where a query may straddle two batches
- `evaluator` returns one row for each query: the function that engines call on their partitions
- `poisson` resamples queries with weights that depend only on their ids
- `means` sums those rows, and adds the sums of partitions: means, intervals, and differences of runs

However the queries are partitioned, the figures agree to 12 digits.
"""

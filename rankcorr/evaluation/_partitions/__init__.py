"""Evaluate data that does not fit in memory, one partition at a time.

The rows of qrels and runs are already joined. The modules, in the order of the work:

- `joined_columns` reads a partition, one row for each document of a query, from Arrow, data frames and Parquet files; a
  query may span two batches
- `evaluator` returns one row for each query; distributed engines call it on their partitions
- `poisson` resamples queries with weights that depend only on their ids
- `means` adds up the results of all partitions: means, intervals, and differences of runs

The results do not depend on the partitioning, to 12 digits.
"""

"""Evaluation by query of columns that are already joined, a partition at a time: files and clusters.

In the order of the work:

- `joined_columns` reads a partition, a row for each document of a query, from Arrow
- `streams` makes partitions of batches and Parquet files, where a query may straddle two batches
- `evaluator` gives a row for each query: the function that engines call on their partitions
- `poisson` resamples queries by weights that depend on their ids alone
- `means` sums those rows exactly, and adds such sums: means, intervals, and differences of runs

However the queries are partitioned, all figures are the same to the last bit.
"""

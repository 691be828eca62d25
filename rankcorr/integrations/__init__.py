"""Small adapters to other packages; each is imported only on request, and needs only its own package.

- `rankcorr.integrations.sklearn`: scorers for `GridSearchCV` and `cross_val_score`
- `rankcorr.integrations.pandas`: `corr_method` for `DataFrame.corr`
- `rankcorr.integrations.polars`: expressions, as ``pl.col("gold").rankcorr.tau_w("system")``
- `rankcorr.integrations.ir_measures`: measures, as ``tau_w(n0=10)@20``
- `rankcorr.integrations.huggingface`: a metric for Hugging Face's evaluate
- `rankcorr.integrations.torchmetrics`: `RankMetric`, a metric of torchmetrics
- `rankcorr.integrations.metric`: `RankMetric` with the same methods, which needs no package
"""

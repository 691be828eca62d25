"""A rank correlation as a metric of torchmetrics, for MetricCollection, Lightning and several processes."""

from typing import Any, ClassVar

import torch
import torchmetrics
from torchmetrics.utilities import dim_zero_cat

from rankcorr._coefficients import Coefficient, CoefficientLike, as_coefficient
from rankcorr.errors import OptionError
from rankcorr.integrations import metric


class RankMetric(torchmetrics.Metric):  # type: ignore[misc]
    """Rank correlation of predictions and targets over all batches and processes, or the mean over queries.

    The state is every row seen, as in `rankcorr.integrations.metric.RankMetric`, which computes the value.

    Parameters
    ----------
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
        Targets are x.
    **options
        Those of `torchmetrics.Metric`, such as ``dist_sync_on_step``.

    Raises
    ------
    OptionError
        The coefficient is unknown.

    Examples
    --------
    >>> metrics = torchmetrics.MetricCollection({name: RankMetric(name) for name in ("tau_w", "rho_w")})
    >>> metrics.update(torch.tensor([9.5, 7.5]), torch.tensor([4, 3]))
    >>> metrics.update(torch.tensor([0.5, 1.5]), torch.tensor([2, 1]))
    >>> {name: round(float(value), 4) for name, value in metrics.compute().items()}
    {'rho_w': 0.879, 'tau_w': 0.8843}
    """

    is_differentiable: ClassVar[bool] = False
    higher_is_better: ClassVar[bool] = True
    full_state_update: ClassVar[bool] = False

    def __init__(self, coefficient: CoefficientLike = "tau_w", **options: Any) -> None:
        super().__init__(**options)
        self.coefficient: Coefficient = as_coefficient(coefficient)
        for state in ("preds", "target", "indexes"):
            self.add_state(state, default=[], dist_reduce_fx="cat")

    def update(self, preds: Any, target: Any, indexes: Any = None) -> None:
        """Add a batch; arguments and errors as for `rankcorr.integrations.metric.RankMetric.update`."""
        batch = metric.RankMetric(self.coefficient)
        batch.update(preds, target, indexes)
        if self.preds and (indexes is None) == bool(self.indexes):
            raise OptionError("indexes must come with every batch, or with none")
        columns = {"preds": preds, "target": target, "indexes": indexes}
        for state, array in batch.state_dict().items():
            if array is not None:
                column = columns[state]
                values = column.detach() if isinstance(column, torch.Tensor) else torch.as_tensor(array)
                getattr(self, state).append(values.to(self.device))

    def compute(self) -> torch.Tensor:
        """Value of all rows, or the mean over queries; nan, with a warning, if undefined.

        Raises
        ------
        TooFewItemsError
            There are fewer than two rows.
        """
        merged = metric.RankMetric(self.coefficient)
        if len(self.preds):
            indexes = dim_zero_cat(self.indexes) if len(self.indexes) else None
            merged.update(dim_zero_cat(self.preds), dim_zero_cat(self.target), indexes)
        return torch.tensor(merged.compute(), device=self.device)

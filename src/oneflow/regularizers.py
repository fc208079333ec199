"""Terms that variables of job functions add to the loss."""

from oneflow.legacy.regularizers import l1 as l1, l1_l2 as l1_l2, l2 as l2

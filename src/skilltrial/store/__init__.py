"""The journal and the evidence, in and out: what is finished is never lost, torn or counted twice."""

from skilltrial.store.blobs import FolderBlobs
from skilltrial.store.experiment import Experiment
from skilltrial.store.folders import experiments, locate
from skilltrial.store.index import Need, Spent
from skilltrial.store.opening import create, open_, plan_of
from skilltrial.store.reading import Todo
from skilltrial.store.reuse import Reusable, reusable
from skilltrial.store.taken_up import in_force
from skilltrial.store.timings import timings

__all__ = [
    "Experiment",
    "FolderBlobs",
    "Need",
    "Reusable",
    "Spent",
    "Todo",
    "create",
    "experiments",
    "in_force",
    "locate",
    "open_",
    "plan_of",
    "reusable",
    "timings",
]

"""Many runs: plans and sweeps, their estimated cost, their progress, and the places where they run.

`axes` has what is varied; `plan` runs a list of points, `sweep` a file of axes (`files`, `load`), adding seeds where
they are wanted (`grow`). `errand` runs a plan, `places` decides where: here, in `shards`, on `dask`. Studies and
comparisons run through the same.
"""

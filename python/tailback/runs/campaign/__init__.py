"""Many runs: plans and sweeps, what they will take, how far they are, and where they are done.

`axes` has what is varied; `plan` runs a list of points, `sweep` a file of axes (`files`, `load`), adding seeds where
they are wanted (`grow`). `errand` runs a plan, `places` decides where: here, in `shards`, on `dask`. Studies and
comparisons run through the same.
"""

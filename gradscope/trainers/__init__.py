"""Callbacks for trainers' libraries, a file each: they watch a training, and name its steps as the trainer does.

`gradscope.trainers.lightning`, `.transformers`, `.ignite` and `.fastai` import their library; this does not.
"""

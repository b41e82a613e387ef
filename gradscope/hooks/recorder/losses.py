"""Names of loss functions that more than one hook follows, of the subtractions that losses begin with, and of
additions."""

OF_CLASSES = ("cross_entropy", "nll_loss")
OF_NUMBERS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")  # their target may be any number
OF_TWO = ("binary_cross_entropy", "binary_cross_entropy_with_logits")  # classes
OF_ALL = (*OF_CLASSES, *OF_NUMBERS, *OF_TWO)
ADDITIONS = ("add",)
ADDITIONS_IN_PLACE = ("add_",)
SUBTRACTIONS = ("sub", "rsub", "__rsub__")

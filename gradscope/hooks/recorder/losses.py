"""Names of loss functions that more than one hook follows."""

OF_CLASSES = ("cross_entropy", "nll_loss")
OF_NUMBERS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")  # their target may be any number

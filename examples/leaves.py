"""What is a leaf: made by hand, or by an op that recorded no graph."""

import torch

made = torch.ones(3, requires_grad=True)
plain = torch.ones(3)
sum_of_plain = plain + plain
result = made + plain
print("made by hand:", made.is_leaf)
print("result of an op without grad:", sum_of_plain.is_leaf)
print("result of an op with grad:", result.is_leaf)

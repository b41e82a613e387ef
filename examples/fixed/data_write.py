"""The write goes to a copy: the gradient is right."""

import torch

a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
b = a + 2
loss = torch.mean(b * b)
loss.backward()
cleared = b.detach().clone().zero_()  # a copy: the graph keeps its own values
print("a.grad is", a.grad.tolist(), "and the copy", cleared.tolist())

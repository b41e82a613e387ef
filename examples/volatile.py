"""`volatile=True` has done nothing since torch 0.4: the graph is kept."""

import torch
from torch.autograd import Variable

weight = torch.ones(3, requires_grad=True)
x = Variable(torch.ones(3), volatile=True)  # cause: GS606
y = weight * x
print("the result still has a graph:", y.requires_grad)

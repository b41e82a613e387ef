import resource

import torch
from torch import nn

torch.manual_seed(0)


class Monitor(nn.Module):
    def __init__(self, input_size=32, hidden_size=64):
        super().__init__()
        self.rnn = nn.RNN(input_size, hidden_size, 2)
        self.score = nn.Linear(hidden_size, 1)

    def forward(self, data, hidden):
        out, hidden = self.rnn(data, hidden)
        return torch.sigmoid(self.score(out[-1])).mean(), hidden


def memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


monitor = Monitor()
hidden = torch.zeros(2, 16, 64)
scores = []
for i in range(300):
    data = torch.rand(20, 16, 32)
    score, hidden = monitor(data, hidden)
    hidden = hidden.detach()
    scores.append(score.item())
    if i % 50 == 0:
        print(f"{i}: score {scores[-1]:.4f} memory {memory()} MB")

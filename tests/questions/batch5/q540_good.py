import resource

import torch
from torch import nn

torch.manual_seed(0)


class NaiveBayes(nn.Module):
    """The labelling functions' accuracies are learned without any label."""

    def __init__(self, num_classes, num_lfs):
        super().__init__()
        self.balance = nn.Parameter(torch.zeros(num_classes))
        self.accuracy = nn.Parameter(0.5 * torch.ones(num_lfs, num_classes))

    def forward(self, votes):
        one_hot = nn.functional.one_hot(votes, self.balance.numel()).float()
        log_prior = torch.log_softmax(self.balance, 0)
        agree = torch.nn.functional.logsigmoid(self.accuracy)
        differ = torch.nn.functional.logsigmoid(-self.accuracy)
        ll = (one_hot * agree + (1 - one_hot) * differ).sum(1)
        return torch.logsumexp(log_prior + ll, dim=1)


def do_estimate(model, votes, epochs, batch_size):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for epoch in range(epochs):
        running_loss = 0.0
        batches = votes[torch.randperm(len(votes))].split(batch_size)
        for batch in batches:
            optimizer.zero_grad()
            loss = -model(batch).mean()
            loss.backward()
            optimizer.step()
            running_loss += loss.item()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"epoch {epoch}: loss {running_loss / len(batches):.4f}, memory {memory:.0f} MB")


truth = torch.randint(0, 3, (40000,))
quality = torch.tensor([0.9, 0.8, 0.7, 0.6, 0.85])
votes = torch.where(torch.rand(40000, 5) < quality, truth[:, None], torch.randint(0, 3, (40000, 5)))
do_estimate(NaiveBayes(3, 5), votes, epochs=4, batch_size=64)

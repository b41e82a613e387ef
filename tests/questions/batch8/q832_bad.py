import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class CovWeighting:
    def __init__(self, num_losses):
        self.num_losses = num_losses
        self.start()

    def start(self):
        self.seen = 0
        self.mean = torch.zeros(self.num_losses)
        self.mean_l = torch.zeros(self.num_losses)
        self.S_l = torch.zeros(self.num_losses)

    def __call__(self, unweighted_losses):
        stacked = torch.stack(unweighted_losses)
        L = stacked.detach()
        L0 = L if self.seen == 0 else self.mean
        l = L / L0
        self.seen += 1
        mean_param = 1.0 - 1.0 / self.seen
        new_mean_l = mean_param * self.mean_l + (1 - mean_param) * l
        self.S_l += (l - self.mean_l) * (l - new_mean_l)
        self.mean_l = new_mean_l
        self.mean = mean_param * self.mean + (1 - mean_param) * L
        if self.seen <= 2:
            alphas = torch.ones(self.num_losses) / self.num_losses
        else:
            ls = torch.sqrt(self.S_l / self.seen + 1e-12) / self.mean_l
            alphas = ls / ls.sum()
        return (alphas * stacked).sum()


class DepthNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 64), nn.ELU(), nn.Linear(64, 8))

    def forward(self, x):
        return F.softplus(self.net(x))


def main():
    teacher = torch.randn(10, 8) / 2
    model, weighting = DepthNet(), CovWeighting(3)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(5):
        weighting.start()
        sums = torch.zeros(3)
        for _ in range(60):
            x = torch.randn(64, 10)
            depth = F.softplus(x @ teacher)
            predicted = model(x)
            ranked = F.relu(0.3 - (predicted.max(1)[0] - predicted.min(1)[0])).mean()
            losses = [F.l1_loss(predicted, depth), F.mse_loss(predicted.log(), depth.log()), ranked]
            loss = weighting(losses)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            sums += torch.stack(losses).detach()
        l1, log, rank = (sums / 60).tolist()
        print(f"epoch {epoch}: l1 {l1:.4f} log {log:.4f} ranking {rank:.4f}")


if __name__ == "__main__":
    main()

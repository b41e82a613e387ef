import torch
import torch.nn as nn
import torch.nn.functional as F


class focal_loss(nn.Module):
    def __init__(self, alpha, gamma=2):
        """alpha: one weight for each class; gamma: how much easy rows count less."""
        super().__init__()
        self.alpha = torch.tensor(alpha)
        self.gamma = gamma

    def forward(self, preds, labels):
        preds_logsoft = F.log_softmax(preds, dim=1)
        preds_softmax = torch.exp(preds_logsoft)
        preds_softmax = preds_softmax.gather(1, labels.view(-1, 1))
        preds_logsoft = preds_logsoft.gather(1, labels.view(-1, 1))
        alpha = self.alpha.gather(0, labels.view(-1))
        loss = -torch.mul(torch.pow(1 - preds_softmax, self.gamma), preds_logsoft)
        loss = torch.mul(alpha, loss.t())
        return loss.mean()


def make_data(n, centers):
    share = torch.tensor([0.7, 0.2, 0.07, 0.03])
    labels = torch.multinomial(share, n, replacement=True)
    return centers[labels] + 1.3 * torch.randn(n, centers.shape[1]), labels


def main():
    torch.manual_seed(0)
    centers = torch.randn(4, 10)
    x, y = make_data(3000, centers)
    xt, yt = make_data(3000, centers)
    net = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 4))
    criterion = focal_loss(alpha=[0.35, 1.25, 3.5, 8.0])
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(6):
        total = 0.0
        for rows in torch.randperm(len(x)).split(50):
            loss = criterion(net(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        with torch.no_grad():
            hit = net(xt).argmax(1) == yt
        recall = [f"{hit[yt == c].float().mean().item():.2f}" for c in range(4)]
        print(f"epoch {epoch}: loss {total / 60:.4f}  recall of the classes {' '.join(recall)}")


if __name__ == "__main__":
    main()

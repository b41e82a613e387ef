import torch
from torch import nn

torch.manual_seed(0)


class SigmoidFocalLoss(nn.Module):
    def __init__(self, gamma=2.0, alpha=0.25):
        super().__init__()
        self.gamma, self.alpha = gamma, alpha

    def forward(self, logits, targets):
        P = torch.sigmoid(logits).clamp(1e-6, 1 - 1e-6)
        alpha_mask = self.alpha * targets
        loss_pos = -1.0 * torch.pow(1 - P, self.gamma) * torch.log(P) * targets * alpha_mask
        loss_neg = -1.0 * torch.pow(1 - P, self.gamma) * torch.log(1 - P) * (1 - targets) * (1 - alpha_mask)
        return (loss_neg + loss_pos).sum() / targets.sum().clamp(min=1.0)


class AnchorHead(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, classes))

    def forward(self, features):
        return self.net(features)


def make_anchors(prototypes, n=512):
    labels = torch.randint(0, 4, (n,))
    positive = torch.rand(n) < 0.06
    features = torch.randn(n, 16)
    features[positive] += 2.0 * prototypes[labels[positive]]
    targets = torch.zeros(n, 4)
    targets[positive, labels[positive]] = 1.0
    return features, targets


def main():
    prototypes = torch.randn(4, 16)
    head, criterion = AnchorHead(), SigmoidFocalLoss()
    optimizer = torch.optim.Adam(head.parameters(), lr=2e-3)
    for step in range(1, 501):
        features, targets = make_anchors(prototypes)
        logits = head(features)
        loss = criterion(logits, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            found = torch.sigmoid(logits) > 0.5
            hits = (found & (targets > 0)).sum().item()
            precision = hits / max(int(found.sum()), 1)
            recall = hits / int(targets.sum())
            print(f"step {step}: loss {loss.item():.4f} precision {precision:.3f} recall {recall:.3f}")


if __name__ == "__main__":
    main()

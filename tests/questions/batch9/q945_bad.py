import torch
import torch.nn as nn

torch.manual_seed(0)
GENES, PERTS = 40, 24


class PertModel(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.pert_emb = nn.Embedding(PERTS, hidden)
        self.base = nn.Sequential(nn.Linear(GENES, hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        self.decoder = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, GENES))

    def forward(self, ctrl, pert):
        return ctrl + self.decoder(self.base(ctrl) + self.pert_emb(pert))


def loss_fct(pred, y, perts, ctrl, gamma=2, direction_lambda=0.1):
    losses = torch.zeros(())
    dir_losses = torch.zeros(())
    for p in perts.unique():
        idx = perts == p
        pred_p, y_p, ctrl_p = pred[idx], y[idx], ctrl[idx]
        losses = losses + torch.sum((pred_p - y_p) ** (2 + gamma)) / pred_p.numel()
        d = torch.sign(y_p - ctrl_p) - torch.sign(pred_p - ctrl_p)
        dir_losses = dir_losses + direction_lambda * torch.sum(d**2) / pred_p.numel()
    n = len(perts.unique())
    return (losses + dir_losses) / n, dir_losses / n


effects = torch.randn(PERTS, GENES) * torch.tensor([0.15, 0.15, 0.15, 1.0])[torch.arange(GENES) % 4]


def sample(n):
    ctrl = torch.rand(n, GENES)
    perts = torch.randint(0, PERTS, (n,))
    return ctrl, perts, ctrl + effects[perts] + 0.01 * torch.randn(n, GENES)


train, test = sample(768), sample(256)
model = PertModel()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=5e-4)

for epoch in range(16):
    model.train()
    for idx in torch.randperm(len(train[0])).split(64):
        ctrl, perts, y = (t[idx] for t in train)
        loss, dir_loss = loss_fct(model(ctrl, perts), y, perts, ctrl)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 1.0)
        optimizer.step()
    if epoch % 3 == 0:
        model.eval()
        with torch.no_grad():
            ctrl, perts, y = test
            pred = model(ctrl, perts)
            same = ((pred - ctrl) * (y - ctrl) > 0).float().mean()
        print(
            f"Epoch {epoch + 1}: train loss {loss.item():.4f}  direction part {dir_loss.item():.4f}  "
            f"right direction {same.item():.3f}"
        )

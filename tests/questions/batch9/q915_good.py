"""Transfer of a pretrained backbone to a small data set."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

basis = torch.randn(6, 40)


def make_data(n, classes, seed):
    g = torch.Generator().manual_seed(seed)
    latent = torch.randn(n, 6, generator=g)
    x = torch.tanh(latent @ basis) + 0.5 * torch.randn(n, 40, generator=g)
    return x, (latent[:, 0] > 0).long() * (classes // 2) + (latent[:, 1] > 0).long()


class Backbone(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.fc1 = nn.Linear(40, dim)
        self.fc2 = nn.Linear(dim, dim)

    def forward(self, x):
        return F.relu(self.fc2(F.relu(self.fc1(x))))


def pretrain():
    x, y = make_data(4000, 4, seed=1)
    backbone, head = Backbone(), nn.Linear(64, 4)
    opt = torch.optim.Adam([*backbone.parameters(), *head.parameters()], lr=2e-3)
    for _ in range(4):
        for i in range(0, 4000, 100):
            loss = F.cross_entropy(head(backbone(x[i : i + 100])), y[i : i + 100])
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(f"pretrained, loss {loss.item():.4f}")
    return backbone.state_dict()


class Predictor(nn.Module):
    def __init__(self, pretrained=None, n_out=4):
        super().__init__()
        self.backbone = Backbone()
        if pretrained is not None:
            self.backbone.load_state_dict(pretrained)
        self.pretrained = pretrained is not None
        self.head = nn.Linear(64, n_out)
        self.init_weights()

    def init_weights(self):
        modules = self.head.modules() if self.pretrained else self.modules()
        for m in modules:
            if isinstance(m, nn.Linear):
                nn.init.xavier_normal_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, x):
        return self.head(self.backbone(x))


model = Predictor(pretrained=pretrain())
x_train, y_train = make_data(40, 4, seed=2)
x_test, y_test = make_data(1000, 4, seed=3)
optimizer = torch.optim.Adam(
    [{"params": model.backbone.parameters(), "lr": 1e-4}, {"params": model.head.parameters(), "lr": 1e-2}]
)
for epoch in range(40):
    loss = F.cross_entropy(model(x_train), y_train)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 10 == 9:
        acc = (model(x_test).argmax(1) == y_test).float().mean().item()
        print(f"epoch {epoch}: train loss {loss.item():.4f} test acc {acc:.3f}")

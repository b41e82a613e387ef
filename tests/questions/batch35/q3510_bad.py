import torch
from torch import nn


class TabICL(nn.Module):
    def __init__(self, features=6, dim=16, classes=3):
        super().__init__()
        self.col_embedder = nn.Sequential(nn.Linear(features, dim), nn.GELU(), nn.Linear(dim, dim))
        self.row_interactor = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU())
        self.icl_predictor = nn.Linear(dim, classes)

    def _train_forward(self, x):
        return self.icl_predictor(self.row_interactor(self.col_embedder(x)))

    def _inference_forward(self, x):
        with torch.no_grad():
            rows = self.row_interactor(self.col_embedder(x))
        return self.icl_predictor(rows)

    def forward(self, x):
        if self.training:
            return self._train_forward(x)
        return self._inference_forward(x)


class Preprocessor(nn.Module):
    def __init__(self, raw=12, features=6):
        super().__init__()
        self.project = nn.Linear(raw, features)

    def forward(self, x):
        return torch.tanh(self.project(x))


def make_table(n=600, raw=12):
    x = torch.randn(n, raw)
    scores = torch.stack([x[:, 0] + x[:, 1], x[:, 2] - x[:, 3], 0.5 * x[:, 4]], dim=1)
    return x, scores.argmax(1)


def pretrain(tabicl, x, y):
    optimizer = torch.optim.Adam(tabicl.parameters(), lr=1e-2)
    for _ in range(60):
        loss = nn.functional.cross_entropy(tabicl(torch.tanh(x[:, :6])), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def freeze(module):
    for param in module.parameters():
        param.requires_grad_(False)
    module.eval()


def finetune(preprocessor, tabicl, x, y, epochs):
    optimizer = torch.optim.Adam(preprocessor.parameters(), lr=1e-2)
    for epoch in range(epochs):
        logits = tabicl(preprocessor(x))
        loss = nn.functional.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 20 == 0:
            print(f"epoch {epoch}: loss {loss.item():.4f}")
    return loss.item()


def main():
    torch.manual_seed(0)
    x, y = make_table()
    tabicl = TabICL()
    print(f"pretrained: {pretrain(tabicl, x, y):.4f}")
    freeze(tabicl)
    print(f"final loss {finetune(Preprocessor(), tabicl, x, y, epochs=80):.4f}")


main()

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class AnomalyAttention(nn.Module):
    def __init__(self, seq_len, d_model):
        super().__init__()
        self.d_model = d_model
        self.Wq = nn.Linear(d_model, d_model, bias=False)
        self.Wk = nn.Linear(d_model, d_model, bias=False)
        self.Wv = nn.Linear(d_model, d_model, bias=False)
        self.Ws = nn.Linear(d_model, 1)
        place = torch.arange(seq_len)
        self.register_buffer("distance", (place[:, None] - place[None, :]).abs().float())

    def forward(self, x):
        sigma = F.softplus(self.Ws(x)) + 0.3
        P = torch.exp(-0.5 * (self.distance / sigma) ** 2) / sigma
        self.P = P / P.sum(dim=-1, keepdim=True)
        self.S = F.softmax(self.Wq(x) @ self.Wk(x).transpose(1, 2) / math.sqrt(self.d_model), dim=-1)
        return self.S @ self.Wv(x)


class AnomalyTransformerBlock(nn.Module):
    def __init__(self, seq_len, d_model):
        super().__init__()
        self.attention = AnomalyAttention(seq_len, d_model)
        self.ln1, self.ln2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.ff = nn.Sequential(nn.Linear(d_model, 2 * d_model), nn.ReLU(), nn.Linear(2 * d_model, d_model))

    def forward(self, x):
        z = self.ln1(self.attention(x) + x)
        return self.ln2(self.ff(z) + z)


class AnomalyTransformer(nn.Module):
    def __init__(self, seq_len, features, d_model=32, layers=2, lambda_=0.3):
        super().__init__()
        self.embed = nn.Linear(features, d_model)
        self.blocks = nn.ModuleList(AnomalyTransformerBlock(seq_len, d_model) for _ in range(layers))
        self.project = nn.Linear(d_model, features)
        self.lambda_ = lambda_

    def forward(self, x):
        h = self.embed(x)
        for block in self.blocks:
            h = block(h)
        self.P_layers = [b.attention.P for b in self.blocks]
        self.S_layers = [b.attention.S for b in self.blocks]
        return self.project(h)

    def association_discrepancy(self, P_list, S_list):
        def kl(p, q):
            return (p * ((p + 1e-6).log() - (q + 1e-6).log())).sum(-1)

        return sum((kl(P, S) + kl(S, P)).mean() for P, S in zip(P_list, S_list)) / len(P_list)

    def loss_function(self, x_hat, P_list, S_list, lambda_, x):
        return F.mse_loss(x_hat, x) - lambda_ * self.association_discrepancy(P_list, S_list)

    def min_loss(self, x_hat, x):
        return self.loss_function(x_hat, self.P_layers, [S.detach() for S in self.S_layers], -self.lambda_, x)

    def max_loss(self, x_hat, x):
        return self.loss_function(x_hat, [P.detach() for P in self.P_layers], self.S_layers, self.lambda_, x)


def make_windows(n, seq_len=24, features=4):
    t = torch.arange(seq_len)[None, :, None] + 40 * torch.rand(n, 1, 1)
    period = torch.tensor([6.0, 9.0, 12.0, 18.0])[:features]
    return torch.sin(2 * math.pi * t / period) + 0.1 * torch.randn(n, seq_len, features)


def main():
    torch.manual_seed(0)
    data, val = make_windows(640), make_windows(128)
    model = AnomalyTransformer(data.shape[1], data.shape[2])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(1, 11):
        for rows in torch.randperm(len(data)).split(32):
            x = data[rows]
            x_hat = model(x)
            loss = model.min_loss(x_hat, x) + model.max_loss(x_hat, x)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        if epoch % 2 == 0:
            with torch.no_grad():
                error = F.mse_loss(model(val), val).item()
                gap = model.association_discrepancy(model.P_layers, model.S_layers).item()
            print(
                f"epoch {epoch:2d}: loss {loss.item():.4f}  val reconstruction {error:.4f}  discrepancy {gap:.4f}"
            )


if __name__ == "__main__":
    main()

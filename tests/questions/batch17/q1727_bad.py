import math

import torch
import torch.nn as nn


class SignalTransformer(nn.Module):
    def __init__(self, features, d_model=32, max_len=64):
        super().__init__()
        self.src_in = nn.Linear(features, d_model)
        self.tgt_in = nn.Linear(features, d_model)
        position = torch.arange(max_len).unsqueeze(1)
        rate = torch.exp(torch.arange(0, d_model, 2) * (-math.log(1000.0) / d_model))
        code = torch.zeros(max_len, d_model)
        code[:, 0::2], code[:, 1::2] = torch.sin(position * rate), torch.cos(position * rate)
        self.register_buffer("code", code)
        self.transformer = nn.Transformer(d_model, 4, 1, 1, 64, dropout=0.0, batch_first=True)
        self.out = nn.Linear(d_model, features)

    def forward(self, src, tgt):
        mask = self.transformer.generate_square_subsequent_mask(tgt.shape[1])
        src = self.src_in(src) + self.code[: src.shape[1]]
        return self.out(self.transformer(src, self.tgt_in(tgt), tgt_mask=mask))


def make_signals(n, past=12, future=8, features=3):
    phase = 6.283 * torch.rand(n, 1, features)
    speed = 0.6 + 0.1 * torch.rand(n, 1, 1)
    t = torch.arange(past + future).view(1, -1, 1)
    wave = torch.sin(speed * t + phase) + 0.02 * torch.randn(n, past + future, features)
    return wave[:, :past], wave[:, past:]


@torch.no_grad()
def predict(model, x, steps):
    model.eval()
    out = model(x, torch.zeros(len(x), steps, x.shape[2]))
    return out


def main():
    torch.manual_seed(0)
    x_train, y_train = make_signals(1024)
    x_test, y_test = make_signals(200)
    model = SignalTransformer(3)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(1, 13):
        model.train()
        for rows in torch.randperm(len(x_train)).split(64):
            x, y = x_train[rows], y_train[rows]
            start = torch.zeros_like(y)
            loss = nn.functional.mse_loss(model(x, start), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 4 == 0:
            out = predict(model, x_test, y_test.shape[1])
            print(
                f"epoch {epoch:2d}: train loss {loss.item():.4f}, test mse {(out - y_test).pow(2).mean():.4f}",
                end="",
            )
            print(
                f", spread over time of the output {out.std(dim=1).mean():.4f} (target {y_test.std(dim=1).mean():.4f})"
            )


if __name__ == "__main__":
    main()

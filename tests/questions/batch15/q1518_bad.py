import math

import torch
import torch.nn as nn
import torch.nn.functional as F

CLS, VOCAB, SEQ_LEN = 0, 12, 16


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=512):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(0)]


class Transformer(nn.Module):
    def __init__(self, ntoken, d_model=32, nhead=4, d_hid=64, nlayers=2):
        super().__init__()
        self.d_model = d_model
        self.token_encoder = nn.Embedding(ntoken, d_model)
        self.pos_encoder = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(d_model, nhead, d_hid, dropout=0.0)
        self.transformer_encoder = nn.TransformerEncoder(layer, nlayers, enable_nested_tensor=False)

    def forward(self, src):
        src = self.token_encoder(src) * math.sqrt(self.d_model)
        src = self.pos_encoder(src)
        return self.transformer_encoder(src)


class TransformerRegressor(nn.Module):
    def __init__(self, transformer, d_model=32):
        super().__init__()
        self.transformer = transformer
        self.regressionHead = nn.Sequential(nn.Linear(d_model, 32), nn.Softplus(), nn.Linear(32, 1))

    def forward(self, mofid):
        output_embedding = self.transformer(mofid)
        return self.regressionHead(output_embedding[:, 0, :])


def make_mofs(n):
    tokens = torch.randint(1, VOCAB, (n, SEQ_LEN))
    tokens[:, 0] = CLS
    weight = torch.linspace(-1.5, 1.5, VOCAB)
    body = weight[tokens[:, 1:]]
    target = body.mean(dim=1) * 3 + 0.5 * (tokens[:, 1] > 6).float()
    return tokens, target[:, None] + 0.05 * torch.randn(n, 1)


def evaluate(model, x, y, batch_size):
    model.eval()
    with torch.no_grad():
        pred = torch.cat([model(part) for part in x.split(batch_size)])
    model.train()
    return (1 - ((pred - y) ** 2).sum() / ((y - y.mean()) ** 2).sum()).item()


def main():
    torch.manual_seed(0)
    train_x, train_y = make_mofs(1600)
    valid_x, valid_y = make_mofs(240)
    model = TransformerRegressor(Transformer(VOCAB))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(1, 9):
        total = 0.0
        for rows in torch.randperm(len(train_x)).split(32):
            loss = F.mse_loss(model(train_x[rows]), train_y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows) / len(train_x)
        if epoch % 2 == 0:
            scores = [evaluate(model, valid_x, valid_y, size) for size in (32, 4)]
            print(
                f"epoch {epoch}: loss {total:.4f}  valid R2 {scores[0]:.3f}, in batches of 4 {scores[1]:.3f}"
            )


if __name__ == "__main__":
    main()

import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=100):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(max_len).unsqueeze(1).float()
        div = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2], pe[:, 1::2] = torch.sin(position * div), torch.cos(position * div)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.shape[1]]


class TransformerReconstruct(nn.Module):
    def __init__(self, bins=8, feature_size=32, num_layers=2, nhead=4):
        super().__init__()
        self.src_mask = None
        self.inp = nn.Linear(bins, feature_size)
        self.pos_encoder = PositionalEncoding(feature_size)
        layer = nn.TransformerEncoderLayer(feature_size, nhead, 64, dropout=0.0, batch_first=True)
        self.transformer_encoder = nn.TransformerEncoder(layer, num_layers)
        self.decoder = nn.Linear(feature_size, bins)

    def forward(self, src):
        if self.src_mask is None or self.src_mask.shape[0] != src.shape[1]:
            mask = nn.Transformer.generate_square_subsequent_mask(src.shape[1])
            self.src_mask = mask
        return self.decoder(self.transformer_encoder(self.pos_encoder(self.inp(src)), self.src_mask))


def make_spectrograms(n, frames=12, bins=8):
    dry = torch.randn(n, frames, bins)
    return dry, dry.flip(1)


def main():
    torch.manual_seed(0)
    src, target = make_spectrograms(2000)
    src_test, target_test = make_spectrograms(300)
    model = TransformerReconstruct()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(1, 13):
        model.train()
        for rows in torch.randperm(len(src)).split(100):
            loss = nn.functional.mse_loss(model(src[rows]), target[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 4 == 0:
            model.eval()
            with torch.no_grad():
                error = (model(src_test) - target_test).pow(2).mean(dim=(0, 2))
            print(
                f"epoch {epoch:2d}: test mse {error.mean():.4f}, frame by frame",
                [round(e, 2) for e in error.tolist()],
            )


if __name__ == "__main__":
    main()

import math

import torch
import torch.nn as nn


class PositionalEncoder(nn.Module):
    def __init__(self, dropout=0.1, max_seq_len=500, d_model=32, batch_first=False):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.x_dim = 1 if batch_first else 0
        self.batch_first = batch_first
        position = torch.arange(max_seq_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_seq_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        if batch_first:
            pe = pe.transpose(0, 1)
        self.register_buffer("pe", pe)

    def forward(self, x):
        if self.batch_first:
            x = x + self.pe[:, : x.size(self.x_dim)]
        else:
            x = x + self.pe[: x.size(self.x_dim)]
        return self.dropout(x)


class TimeSeriesTransformer(nn.Module):
    def __init__(self, input_size=1, dec_seq_len=6, dim_val=32, n_heads=4, batch_first=True):
        super().__init__()
        self.encoder_input_layer = nn.Linear(input_size, dim_val)
        self.decoder_input_layer = nn.Linear(input_size, dim_val)
        self.positional_encoding_layer = PositionalEncoder(0.05, d_model=dim_val, batch_first=batch_first)
        enc = nn.TransformerEncoderLayer(dim_val, n_heads, 64, dropout=0.05, batch_first=batch_first)
        dec = nn.TransformerDecoderLayer(dim_val, n_heads, 64, dropout=0.05, batch_first=batch_first)
        self.encoder = nn.TransformerEncoder(enc, 1)
        self.decoder = nn.TransformerDecoder(dec, 1)
        self.linear_mapping = nn.Linear(dim_val, 1)
        self.register_buffer("tgt_mask", torch.triu(torch.full((dec_seq_len, dec_seq_len), float("-inf")), 1))

    def forward(self, src, tgt):
        src = self.positional_encoding_layer(self.encoder_input_layer(src))
        memory = self.encoder(src)
        out = self.decoder(self.decoder_input_layer(tgt), memory, tgt_mask=self.tgt_mask)
        return self.linear_mapping(out)


def windows(n, enc_len=24, out_len=6):
    t = torch.arange(enc_len + out_len).float()
    phase = 6.28 * torch.rand(n, 1)
    series = torch.sin(0.5 * t + phase) + 0.4 * torch.sin(1.3 * t + 2 * phase)
    series = series.unsqueeze(-1)
    return series[:, :enc_len], series[:, enc_len - 1 : -1], series[:, enc_len:]


torch.manual_seed(27)
model = TimeSeriesTransformer()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.HuberLoss()
for it in range(1, 161):
    src, tgt, y = windows(32)
    loss = criterion(model(src, tgt), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 40 == 0:
        print(f"iteration {it}: loss {loss.item():.5f}")

import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.0, max_len=600):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).float().unsqueeze(1)
        rate = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        table = torch.zeros(max_len, d_model)
        table[:, 0::2] = torch.sin(position * rate)
        table[:, 1::2] = torch.cos(position * rate)
        self.register_buffer("pe", table.unsqueeze(0))

    def forward(self, x):
        x = x + self.pe[:, : x.shape[1], :]
        return self.dropout(x)


class MotionNetwork(nn.Module):
    def __init__(self, audio_dim, motion_dim, d_model=48):
        super().__init__()
        self.audio_proj = nn.Linear(audio_dim, d_model)
        self.PE = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(d_model, 4, 96, dropout=0.0, batch_first=True)
        self.transformer = nn.TransformerEncoder(layer, 2)
        self.motion_dec = nn.Linear(d_model, motion_dim)

    def forward(self, audio):
        return self.motion_dec(self.transformer(self.PE(self.audio_proj(audio))))


def make_clips(n, frames=20, audio_dim=6, motion_dim=4):
    generator = torch.Generator().manual_seed(3)
    mix = torch.randn(audio_dim, motion_dim, generator=generator)
    audio = torch.randn(n, frames, audio_dim)
    previous = torch.cat([torch.zeros(n, 1, audio_dim), audio[:, :-1]], dim=1)
    nod = torch.sin(6.283 * torch.arange(frames) / 10).view(1, frames, 1)
    return audio, torch.tanh((0.7 * audio + 0.7 * previous) @ mix / 2) + nod


def main():
    torch.manual_seed(0)
    audio, motion = make_clips(480)
    val_audio, val_motion = make_clips(200)
    model = MotionNetwork(audio.shape[2], motion.shape[2])
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(1, 13):
        for rows in torch.randperm(len(audio)).split(32):
            loss = (model(audio[rows]) - motion[rows]).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 4 == 0:
            with torch.no_grad():
                val = (model(val_audio) - val_motion).pow(2).mean().item()
            print(f"epoch {epoch:2d}: train mse {loss.item():.4f}  val mse {val:.4f}")
    model.eval()
    with torch.no_grad():
        flat = model(torch.zeros(1, 20, audio.shape[2]))[0, :, 0]
    print("motion for silence:", " ".join(f"{v:+.2f}" for v in flat[:12].tolist()))


if __name__ == "__main__":
    main()

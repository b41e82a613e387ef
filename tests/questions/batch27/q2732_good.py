import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(0)


class EncoderLayer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, 4, batch_first=True)
        self.norm1 = nn.LayerNorm(d)
        self.fc1 = nn.Linear(d, 2 * d)
        self.fc2 = nn.Linear(2 * d, d)
        self.norm2 = nn.LayerNorm(d)

    def forward(self, x, padding_mask):
        residual = x
        x, _ = self.attn(x, x, x, key_padding_mask=padding_mask, need_weights=False)
        x = self.norm1(residual + x)
        residual = x
        x = self.fc2(torch.relu(self.fc1(x)))
        return self.norm2(residual + x)


class TransformerEncoder(nn.Module):
    def __init__(self, d, layers=2):
        super().__init__()
        self.pos_conv = nn.Sequential(nn.Conv1d(d, d, 9, padding=4, groups=4), nn.GELU())
        self.layers = nn.ModuleList([EncoderLayer(d) for _ in range(layers)])
        self.layer_norm = nn.LayerNorm(d)

    def extract_features(self, x, padding_mask):
        x = x.masked_fill(padding_mask.unsqueeze(-1), 0.0)
        x_conv = self.pos_conv(x.transpose(1, 2))
        x_conv = x_conv.transpose(1, 2)
        x = x + x_conv
        x = self.layer_norm(x)
        for layer in self.layers:
            x = layer(x, padding_mask)
        return x

    def forward(self, x, padding_mask):
        return self.extract_features(x, padding_mask)


class AudioEncoder(nn.Module):
    def __init__(self, d=32, n_words=6):
        super().__init__()
        self.feature_extractor = nn.Conv1d(1, d, kernel_size=10, stride=5)
        self.proj = nn.Linear(d, d)
        self.encoder = TransformerEncoder(d)
        self.cls = nn.Linear(d, n_words)

    def forward(self, wav, wav_len):
        feats = torch.relu(self.feature_extractor(wav.unsqueeze(1))).transpose(1, 2)
        n_frames = (wav_len - 10) // 5 + 1
        padding_mask = torch.arange(feats.size(1))[None] >= n_frames[:, None]
        out = self.encoder(self.proj(feats), padding_mask)
        keep = (~padding_mask).unsqueeze(-1).float()
        return self.cls((out * keep).sum(1) / keep.sum(1))


def get_batch(bsz=16, max_len=200):
    label = torch.randint(0, 6, (bsz,))
    length = torch.randint(120, max_len + 1, (bsz,))
    t = torch.arange(max_len).float()
    wav = torch.sin(t[None] * (0.1 + 0.15 * label[:, None])) + 0.3 * torch.randn(bsz, max_len)
    return wav * (t[None] < length[:, None]), length, label


model = AudioEncoder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
for step in range(1, 81):
    wav, length, label = get_batch()
    logits = model(wav, length)
    loss = criterion(logits, label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f'step {step} loss {loss.item():.4f} acc {(logits.argmax(1) == label).float().mean().item():.3f}')

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
NUM_CODES, IMAGE_LEN, TEXT_DIM = 16, 24, 10


class ImageDecoder(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.start = nn.Parameter(torch.randn(dim))
        self.code_emb = nn.Embedding(NUM_CODES, dim)
        self.text_proj = nn.Linear(TEXT_DIM, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.to_logits = nn.Linear(dim, NUM_CODES)

    def forward(self, text, codes, return_loss=True):
        emb = self.code_emb(codes[:, :-1])
        start = self.start.expand(codes.shape[0], 1, -1)
        x = torch.cat([start, emb], dim=1) + self.text_proj(text).unsqueeze(1)
        logits = self.to_logits(self.gru(x)[0])
        if not return_loss:
            return logits
        return F.cross_entropy(logits.transpose(1, 2), codes, ignore_index=0)


def make_batch(n):
    kind = torch.randint(0, TEXT_DIM, (n,))
    text = F.one_hot(kind, TEXT_DIM).float()
    pos = torch.arange(IMAGE_LEN).unsqueeze(0)
    inside = (pos >= kind.unsqueeze(1)) & (pos < kind.unsqueeze(1) + 10)
    codes = torch.where(inside, 1 + (pos + kind.unsqueeze(1)) % (NUM_CODES - 1), torch.zeros_like(pos))
    return text, codes


model = ImageDecoder()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for step in range(300):
    text, codes = make_batch(32)
    loss = model(text, codes)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 50 == 0 or step == 299:
        with torch.no_grad():
            text, codes = make_batch(200)
            pred = model(text, codes, return_loss=False).argmax(-1)
            acc = (pred == codes).float().mean().item()
            used = (pred == 0).float().mean().item()
        print(f"step {step} loss {loss.item():.4f} code accuracy {acc:.3f} share of code 0 in samples {used:.3f}")

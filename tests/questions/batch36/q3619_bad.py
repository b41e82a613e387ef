import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(18)
VOCAB, MAX_LEN, HIDDEN, MASK = 12, 16, 32, 11


class BERTEncoder(nn.Module):
    def __init__(self, vocab_size, num_hiddens, num_heads=4, num_blks=2, max_len=MAX_LEN):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, num_hiddens)
        self.segment_embedding = nn.Embedding(2, num_hiddens)
        self.blks = nn.ModuleList([
            nn.TransformerEncoderLayer(num_hiddens, num_heads, 64, dropout=0.0, batch_first=True)
            for _ in range(num_blks)])
        self.pos_embedding = nn.Parameter(0.02 * torch.randn(1, max_len, num_hiddens))

    def forward(self, tokens, segments):
        X = self.token_embedding(tokens) + self.segment_embedding(segments)
        X = X + self.pos_embedding.data[:, :X.shape[1], :]
        for blk in self.blks:
            X = blk(X)
        return X


class BERTModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = BERTEncoder(VOCAB, HIDDEN)
        self.mlm = nn.Sequential(nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.LayerNorm(HIDDEN), nn.Linear(HIDDEN, VOCAB))

    def forward(self, tokens, segments):
        return self.mlm(self.encoder(tokens, segments))


def make(n):
    start = torch.randint(0, 10, (n, 1))
    stride = torch.randint(1, 4, (n, 1))
    tokens = (start + stride * torch.arange(MAX_LEN)) % 10
    segments = (torch.arange(MAX_LEN) >= MAX_LEN // 2).long().expand(n, -1)
    masked = torch.rand(n, MAX_LEN) < 0.2
    return torch.where(masked, torch.full_like(tokens, MASK), tokens), segments, tokens, masked


net = BERTModel()
trainer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(401):
    tokens, segments, target, masked = make(48)
    loss = F.cross_entropy(net(tokens, segments)[masked], target[masked])
    trainer.zero_grad()
    loss.backward()
    trainer.step()
    if step % 80 == 0:
        with torch.no_grad():
            tokens, segments, target, masked = make(300)
            acc = (net(tokens, segments)[masked].argmax(-1) == target[masked]).float().mean().item()
        print(f"step {step} mlm loss {loss.item():.4f} masked token accuracy {acc:.3f}")

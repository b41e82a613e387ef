import torch
from torch import nn

torch.manual_seed(3)
LETTERS, LENGTH = 10, 6
START, END = LETTERS, LETTERS + 1


class Seq2Seq(nn.Module):
    def __init__(self, d_model=32):
        super().__init__()
        self.embedding = nn.Embedding(LETTERS + 2, d_model)
        self.position = nn.Embedding(LENGTH + 2, d_model)
        self.transformer = nn.Transformer(d_model, 2, 1, 1, 64, dropout=0.0, batch_first=True)
        self.generator = nn.Linear(d_model, LETTERS + 2)

    def embed(self, tokens):
        return self.embedding(tokens) + self.position(torch.arange(tokens.shape[1]))

    def forward(self, src, tgt):
        tgt_mask = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1])
        return self.generator(self.transformer(self.embed(src), self.embed(tgt), tgt_mask=tgt_mask))


def make_batch(n):
    src = torch.randint(0, LETTERS, (n, LENGTH))
    word = (src + 3) % LETTERS
    start, end = torch.full((n, 1), START), torch.full((n, 1), END)
    return src, torch.cat([start, word, end], dim=1)


def greedy_decode(model, src):
    tokens = torch.full((len(src), 1), START)
    for _ in range(LENGTH + 1):
        logits = model(src, tokens)[:, -1]
        tokens = torch.cat([tokens, logits.argmax(dim=1, keepdim=True)], dim=1)
    return tokens


model = Seq2Seq()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(180):
    src, tgt = make_batch(48)
    output = model(src, tgt[:, :-1])
    loss = criterion(output.flatten(0, 1), tgt[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 45 == 0:
        print(f"step {step + 1}: loss {loss.item():.4f}")

model.eval()
with torch.no_grad():
    src, tgt = make_batch(500)
    decoded = greedy_decode(model, src)
print(f"letters right at inference: {(decoded[:, 1:-1] == tgt[:, 1:-1]).float().mean():.3f}")
print("first decoded words:", decoded[:2].tolist())

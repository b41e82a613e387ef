import torch
from torch import nn

torch.manual_seed(9)
PAD, VOCAB, SOURCE, MAX_LEN = 0, 31, 5, 16
mapping = torch.cat([torch.zeros(1, dtype=torch.long), 1 + torch.randperm(VOCAB - 1)])


class Translator(nn.Module):
    def __init__(self, d_model=32):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, d_model)
        self.source_position = nn.Parameter(0.1 * torch.randn(SOURCE, d_model))
        self.queries = nn.Parameter(torch.randn(MAX_LEN, d_model))
        layer = nn.TransformerDecoderLayer(d_model, 2, 64, dropout=0.0, batch_first=True)
        self.decoder = nn.TransformerDecoder(layer, 1)
        self.generator = nn.Linear(d_model, VOCAB)

    def forward(self, source):
        memory = self.embedding(source) + self.source_position
        return self.generator(self.decoder(self.queries.expand(len(source), -1, -1), memory))


def make_batch(n):
    source = torch.randint(1, VOCAB, (n, SOURCE))
    target = mapping[source[:, torch.arange(MAX_LEN) % SOURCE]]
    lengths = 1 + torch.distributions.Geometric(torch.full((n,), 0.3)).sample().long().clamp(max=MAX_LEN - 1)
    return source, target.masked_fill(torch.arange(MAX_LEN) >= lengths.unsqueeze(1), PAD)


model = Translator()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(240):
    source, target = make_batch(64)
    logits = model(source)
    loss = criterion(logits.reshape(-1, VOCAB), target.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 60 == 0:
        print(f"step {step + 1}: loss {loss.item():.4f}")

model.eval()
with torch.no_grad():
    source, target = make_batch(1000)
    prediction = model(source).argmax(dim=-1)
words = target != PAD
print(f"words right: {(prediction == target)[words].float().mean():.3f}")
print(f"words predicted as <pad>: {(prediction == PAD)[words].float().mean():.3f}")

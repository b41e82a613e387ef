import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
FIELDS, VOCAB, DIM = 6, 8, 32


class TabFormerEmbeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.word_embeddings = nn.Embedding(FIELDS * VOCAB, DIM)
        layer = nn.TransformerEncoderLayer(d_model=DIM, nhead=4, dim_feedforward=64, dropout=0.0)
        self.transformer_encoder = nn.TransformerEncoder(layer, num_layers=2)
        self.lin_proj = nn.Linear(FIELDS * DIM, DIM)
        self.register_buffer("offset", torch.arange(FIELDS) * VOCAB)

    def forward(self, input_ids):
        inputs_embeds = self.word_embeddings(input_ids + self.offset)
        inputs_embeds = self.transformer_encoder(inputs_embeds)
        return self.lin_proj(inputs_embeds.flatten(1))


class FraudClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = TabFormerEmbeddings()
        self.classifier = nn.Linear(DIM, 2)

    def forward(self, input_ids):
        return self.classifier(self.embeddings(input_ids))


def make_rows(n):
    rows = torch.randint(0, VOCAB, (n, FIELDS))
    same = torch.rand(n) < 0.5
    rows[:, 3] = torch.where(same, rows[:, 0], rows[:, 3])
    return rows, (rows[:, 0] == rows[:, 3]).long()


train_x, train_y = make_rows(2048)
val_x, val_y = make_rows(512)
model = FraudClassifier()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(1, 11):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(train_x)).split(64):
        loss = F.cross_entropy(model(train_x[idx]), train_y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        acc = (model(val_x).argmax(1) == val_y).float().mean()
    if epoch % 2 == 0:
        print(f"epoch {epoch}  loss {total / len(train_x):.4f}  val acc {acc:.3f}")

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class AttentionalFM(nn.Module):
    def __init__(self, fields=6, field_size=8, dim=8, attn=16, dropouts=(0.2, 0.2)):
        super().__init__()
        self.offsets = torch.arange(fields) * field_size
        self.embedding = nn.Embedding(fields * field_size, dim)
        self.linear = nn.Embedding(fields * field_size, 1)
        self.attention = nn.Linear(dim, attn)
        self.projection = nn.Linear(attn, 1)
        self.fc = nn.Linear(dim, 1)
        self.dropouts = dropouts
        rows, cols = torch.triu_indices(fields, fields, 1)
        self.row, self.col = rows, cols

    def forward(self, x):
        x = x + self.offsets
        emb = self.embedding(x)
        inner = emb[:, self.row] * emb[:, self.col]
        attn_scores = F.relu(self.attention(inner))
        attn_scores = F.softmax(self.projection(attn_scores), dim=1)
        attn_scores = F.dropout(attn_scores, p=self.dropouts[0], training=self.training)
        attn_output = torch.sum(attn_scores * inner, dim=1)
        attn_output = F.dropout(attn_output, p=self.dropouts[1], training=self.training)
        return (self.linear(x).sum(1) + self.fc(attn_output)).squeeze(1)


def test(model, x, y):
    model.eval()
    with torch.no_grad():
        return F.binary_cross_entropy_with_logits(model(x), y).item()


x = torch.randint(0, 8, (3000, 6))
taste = torch.randn(8)
y = (taste[x[:, 0]] * taste[x[:, 1]] + taste[x[:, 2]] > 0).float()
train_x, train_y, test_x, test_y = x[:2000], y[:2000], x[2000:], y[2000:]
model = AttentionalFM()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(1, 16):
    model.train()
    for index in torch.randperm(2000).split(100):
        loss = F.binary_cross_entropy_with_logits(model(train_x[index]), train_y[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 5 == 0:
        print(f"epoch {epoch}: test loss {test(model, test_x, test_y):.4f}")
print(f"once more: {test(model, test_x, test_y):.4f}")

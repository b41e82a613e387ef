import torch
from torch import nn

torch.manual_seed(0)


class TransformerModel(nn.Module):
    def __init__(self, input_dim, embed_dim, num_heads, num_layers, ff_dim, output_dim):
        super().__init__()
        self.embedding = nn.Linear(input_dim, embed_dim)
        layer = nn.TransformerEncoderLayer(embed_dim, num_heads, ff_dim, dropout=0.0)
        self.transformer_encoder = nn.TransformerEncoder(layer, num_layers, enable_nested_tensor=False)
        self.output_layer = nn.Linear(embed_dim, output_dim)

    def forward(self, x):
        x = self.embedding(x)
        x = self.transformer_encoder(x)
        return self.output_layer(x[:, -1, :])


seq_length, num_samples, input_dim = 8, 512, 1
X = torch.rand(num_samples, seq_length, input_dim)
y = torch.sum(X, dim=1)
X_test = torch.rand(128, seq_length, input_dim)
y_test = torch.sum(X_test, dim=1)

model = TransformerModel(input_dim, 16, 2, 2, 64, 1)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(20):
    model.train()
    total = 0.0
    for idx in torch.randperm(num_samples).split(32):
        predictions = model(X[idx])
        loss = criterion(predictions, y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if (epoch + 1) % 5 == 0:
        print(f"epoch [{epoch + 1}/20], loss {total / 16:.4f}")

model.eval()
with torch.no_grad():
    print(f"test loss {criterion(model(X_test), y_test).item():.4f}")

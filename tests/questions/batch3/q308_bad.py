import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(11)


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(30, 16), nn.Tanh(), nn.Linear(16, 6))
        self.decoder = nn.Linear(6, 30)

    def forward(self, x):
        code = self.encoder(x)
        return code, F.mse_loss(self.decoder(code), x)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))

    def forward(self, x, y):
        out = self.body(x)
        loss = F.cross_entropy(out, y)
        accuracy = (out.argmax(1) == y).float().mean()
        return out, loss, accuracy


mixing = torch.randn(4, 30)
latent = torch.randn(600, 4)
X_train_tensor = latent @ mixing + 0.05 * torch.randn(600, 30)
y_train_tensor = (latent @ torch.randn(4, 3)).argmax(1)

autoencoder = AutoEncoder()
ae_optimizer = torch.optim.Adam(autoencoder.parameters(), lr=0.01)
for _ in range(150):
    _, loss = autoencoder(X_train_tensor)
    ae_optimizer.zero_grad()
    loss.backward()
    ae_optimizer.step()
print("autoencoder", loss.item())

autoencoder.eval()
X_train_encoded, _ = autoencoder(X_train_tensor)

model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
batch_size = 100
for epoch in range(20):
    start_ix = 0
    while start_ix < len(X_train_encoded):
        end_ix = min(start_ix + batch_size, len(X_train_encoded))
        out, loss, accuracy = model(X_train_encoded[start_ix:end_ix], y_train_tensor[start_ix:end_ix])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        start_ix = end_ix
    if epoch % 4 == 0:
        print(epoch, loss.item(), accuracy.item())

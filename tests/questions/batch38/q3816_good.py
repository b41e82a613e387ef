import torch
import torch.nn as nn
import torch.nn.functional as F


class FishNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(48, 32)
        self.fc2 = nn.Linear(32, 16)
        self.fc3 = nn.Linear(16, 2)

    def forward(self, x):
        x = F.relu(self.fc1(x.flatten(1)))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


def train(model, optimizer, loss_fn, x, y, epochs=12):
    for epoch in range(epochs):
        model.train()
        training_loss = 0.0
        for idx in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            loss = loss_fn(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
            training_loss += loss.item() * len(idx)
        print(f"epoch {epoch} training loss {training_loss / len(x):.4f}")


def predict(model, image):
    model.eval()
    with torch.no_grad():
        prediction = F.softmax(model(image.unsqueeze(0)), dim=1)
        return prediction.argmax().item()


torch.manual_seed(0)
labels = ["cat", "fish"]
y = (torch.rand(512) < 0.6).long()
x = torch.randn(512, 3, 4, 4) + y.view(-1, 1, 1, 1) * 0.6
model = FishNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
train(model, optimizer, nn.CrossEntropyLoss(), x[:400], y[:400])
answers = [predict(model, img) for img in x[400:]]
hits = sum(int(a == t) for a, t in zip(answers, y[400:].tolist()))
print(f"test accuracy {hits / 112:.3f}, said fish {sum(answers)} times, first: {labels[answers[0]]}")

import torch
from torch import nn

torch.manual_seed(0)


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 8), nn.Tanh())
        self.decoder = nn.Linear(8, 12)
        self.classifier = nn.Linear(8, 3)

    def forward(self, x):
        code = self.encoder(x)
        return self.decoder(code), self.classifier(code)


centres = 2 * torch.randn(3, 12)
labels = torch.randint(0, 3, (900,))
inputs = centres[labels] + torch.randn(900, 12)

model = TwoHeads()
mse, ce = nn.MSELoss(), nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(5):
    for idx in torch.randperm(900).split(50):
        x, y = inputs[idx], labels[idx]
        reconstruction, logits = model(x)
        reconstruction_loss = mse(reconstruction, x)
        class_loss = ce(logits, y)
        optimizer.zero_grad()
        reconstruction_loss.backward()
        class_loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: reconstruction {reconstruction_loss.item():.4f}, class {class_loss.item():.4f}")

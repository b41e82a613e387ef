import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class PointFM(nn.Module):
    def __init__(self, user_num, item_num, factors=16):
        super().__init__()
        self.embed_user = nn.Embedding(user_num, factors)
        self.embed_item = nn.Embedding(item_num, factors)
        self.u_bias = nn.Embedding(user_num, 1)
        self.i_bias = nn.Embedding(item_num, 1)
        self.bias_ = nn.Parameter(torch.tensor([0.0]))
        nn.init.normal_(self.embed_user.weight, std=0.1)
        nn.init.normal_(self.embed_item.weight, std=0.1)
        nn.init.zeros_(self.u_bias.weight)
        nn.init.zeros_(self.i_bias.weight)

    def forward(self, user, item):
        pred = (self.embed_user(user) * self.embed_item(item)).sum(dim=-1, keepdim=True)
        pred += self.u_bias(user) + self.i_bias(item) + self.bias_
        return pred.view(-1)

    def fit(self, loader, epochs=12, lr=0.02, loss_type="CL"):
        optimizer = torch.optim.Adam(self.parameters(), lr=lr)
        criterion = nn.BCEWithLogitsLoss(reduction="sum") if loss_type == "CL" else nn.MSELoss()
        for epoch in range(1, epochs + 1):
            self.train()
            current_loss = 0.0
            for user, item, label in loader:
                self.zero_grad()
                prediction = self.forward(user, item)
                loss = criterion(prediction, label)
                loss.backward()
                optimizer.step()
                current_loss += loss.item()
            if epoch % 3 == 0:
                print(f"epoch {epoch}: loss {current_loss / len(loader.dataset):.4f}")


taste_u, taste_i = torch.randn(80, 3), torch.randn(60, 3)
users, items = torch.randint(0, 80, (4000,)), torch.randint(0, 60, (4000,))
labels = ((taste_u[users] * taste_i[items]).sum(1) > 0).float()
loader = DataLoader(TensorDataset(users, items, labels), batch_size=200, shuffle=True)
PointFM(80, 60).fit(loader)

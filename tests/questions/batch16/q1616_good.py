import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class NCFData(Dataset):
    def __init__(self, features_ps, train_mat, num_ng):
        self.features_ps, self.train_mat, self.num_ng = features_ps, train_mat, num_ng

    def ng_sample(self):
        users = self.features_ps[:, 0].repeat_interleave(self.num_ng)
        items = torch.randint(self.train_mat.shape[1], (len(users),))
        while (bought := self.train_mat[users, items]).any():
            items[bought] = torch.randint(self.train_mat.shape[1], (int(bought.sum()),))
        features_ng = torch.stack([users, items], dim=1)
        self.features_fill = torch.cat([self.features_ps, features_ng])
        self.labels_fill = torch.cat([torch.ones(len(self.features_ps)), torch.zeros(len(features_ng))])

    def __len__(self):
        return len(self.features_ps) * (self.num_ng + 1)

    def __getitem__(self, idx):
        return self.features_fill[idx], self.labels_fill[idx]


class NCF(nn.Module):
    def __init__(self, user_num, item_num, factor_num=24):
        super().__init__()
        self.embed_user, self.embed_item = (
            nn.Embedding(user_num, factor_num),
            nn.Embedding(item_num, factor_num),
        )
        self.mlp = nn.Sequential(nn.Linear(2 * factor_num, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
        self.predict_layer = nn.Linear(24 + factor_num, 1)

    def forward(self, user, item):
        u, i = self.embed_user(user), self.embed_item(item)
        both = torch.cat([u * i, self.mlp(torch.cat([u, i], dim=-1))], dim=-1)
        return self.predict_layer(both).squeeze(-1)


def make_purchases(user_num=90, item_num=180, liked=16):
    taste, kind = torch.randn(user_num, 4), torch.randn(item_num, 4)
    ranked = (taste @ kind.t() + 0.5 * torch.randn(user_num, item_num)).topk(liked, dim=1).indices
    users = torch.arange(user_num)
    test_items = ranked[users, torch.randint(liked, (user_num,))]
    train_mat = torch.zeros(user_num, item_num, dtype=torch.bool).scatter(1, ranked, True)
    bought = train_mat.clone()
    train_mat[users, test_items] = False
    return train_mat, bought, test_items


def metrics(model, train_mat, test_items, top_k=10):
    users = torch.arange(len(train_mat)).view(-1, 1).expand_as(train_mat)
    items = torch.arange(train_mat.shape[1]).view(1, -1).expand_as(train_mat)
    with torch.no_grad():
        scores = model(users, items).masked_fill(train_mat, -1e9)
    top = scores.topk(top_k, dim=1).indices
    return (top == test_items.view(-1, 1)).any(dim=1).float().mean().item()


def main():
    torch.manual_seed(0)
    train_mat, _, test_items = make_purchases()
    train_dataset = NCFData(train_mat.nonzero(), train_mat, num_ng=4)
    train_loader = DataLoader(train_dataset, batch_size=256, shuffle=True)
    model = NCF(*train_mat.shape)
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)
    for epoch in range(1, 21):
        train_loader.dataset.ng_sample()
        total = 0.0
        for features, label in train_loader:
            loss = F.binary_cross_entropy_with_logits(model(features[:, 0], features[:, 1]), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() / len(train_loader)
        if epoch % 5 == 0:
            print(
                f"epoch {epoch:2d}: train loss {total:.4f}  HR@10 {metrics(model, train_mat, test_items):.3f}"
            )


if __name__ == "__main__":
    main()
